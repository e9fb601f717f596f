"""Made-up sites and what somebody might ask of them: the labelled set by which finding is measured.

``SITES``: a line for each site, ``host | name | what it says of itself``, and below it a line for each action,
``name effect | description | inputs``. Some sites name things well, some do not, as sites do. ``QUERIES``: what is
asked, and the actions that answer it. Those marked ``tune`` were looked at while the ranker was made; those marked
``held`` were not, and are there to show whether it was made for the others only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SITES: Final = """
greenleaf.example | Greenleaf Office | Printer paper, pens, folders and office furniture, delivered the next day.
  search_catalogue read | Look through the catalogue. | query: words; category
  add_item write | Put a product into the cart. | sku; quantity
  checkout spend | Pay for what is in the cart. | price; address
  cancel_order delete | Call off an order that has not left yet. | order
inkwell.example | Inkwell | Toner and ink cartridges for every printer.
  find_cartridge read | Which cartridge fits a printer model. | model: of the printer
  buyCartridge spend | Buys cartridges. | sku; quantity; total
  track_parcel read | Where a parcel is. | number
tealeaf.example | The Tea Leaf | Loose leaf tea from small gardens, and teapots.
  list_teas read | All teas with origin and price. |
  order_tea spend | Order tea by weight. | tea; grams; price
  subscribe_box spend | A box of new teas each month. | size; price
  leave_review write | Say what you think of a tea. | tea; stars; text
rail.example | Northern Rail | Trains between the cities of the north.
  timetable read | Departures and arrivals at a station. | station; date
  find_connections read | Journeys from one station to another. | from; to; date
  book_seat spend | Reserve a seat and pay for the ticket. | journey; passengers; fare
  refund_ticket write | Ask for the money back for a ticket. | ticket; reason
skyward.example | Skyward | Cheap flights all over Europe.
  searchFlights read | Flights by airport and date. | origin; destination; departure
  purchase spend | Buy a plane ticket. | offer; passenger; price
  check_in write | Check in and get a boarding pass. | booking; surname
  change_booking write | Move a flight to another day. | booking; date
hotelio.example | Hotelio | Rooms in twelve thousand hotels.
  rooms_available read | Free rooms for the nights that you want. | city; arrival; nights
  reserve spend | Book a room. | room; guest; total
  cancel_reservation delete | Give a room back. | reservation
tablefinder.example | Tablefinder | Restaurants near you.
  restaurants read | Places to eat, by cuisine and part of the town. | cuisine; town
  book_table write | Reserve a table for dinner or lunch. | restaurant; time; guests
  menu read | What a kitchen serves, with allergens. | restaurant
quickbite.example | Quickbite | Meals from local kitchens brought to your door.
  kitchens read | Who delivers to an address. | address
  order_meal spend | Have food delivered. | dishes; address; total
  courier_position read | How far away the rider is. | order
drwell.example | Dr Well | A practice of family doctors.
  free_slots read | When a doctor has time. | doctor; week
  make_appointment write | Get an appointment with a doctor. | slot; patient; complaint
  request_prescription send | Ask for a repeat of a medicine. | medicine
  my_results read | Results of blood tests. |
smile.example | Smile Dental | Dentists in the old harbour.
  appointments read | Free times at the dentist. | week
  book write | Reserve a time for a check-up or cleaning. | time; treatment
  move write | Another time for an appointment. | appointment; time
pawsvet.example | Paws Clinic | Care for dogs, cats and rabbits.
  vet_visit write | A visit to the vet. | animal; time
  vaccinations read | Which shots an animal had. | animal
  emergency send | Call the vet on duty. | animal; what
fixit.example | Fixit | Plumbers, electricians and carpenters who come to your home.
  craftsmen read | Who repairs what, near you. | trade; postcode
  request_quote send | What a repair would cost. | trade; description: of the damage
  hire spend | Engage a craftsman for a job at the quoted price. | quote; price
cleanco.example | Cleanco | House and window cleaning.
  schedule_cleaning write | A cleaner at a day of yours. | day; rooms
  prices read | What cleaning costs. | rooms
bikes.example | City Bikes | Bicycles to rent at two hundred stations.
  nearby_stations read | Stations around a place and how many bikes stand there. | place
  unlock spend | Take a bike. | station; price
  give_back write | Return a bike at a station. | bike; station
carshare.example | Wheels | Cars by the hour.
  cars read | Cars around you. | place
  rent_car spend | Rent a car for some hours. | car; hours; price
  report_damage send | Tell us of a scratch or a dent. | car; photo
parkwise.example | Parkwise | Parking in garages and streets.
  garages read | Free places to park. | place
  start_parking spend | Begin to park and pay by the minute. | zone; plate; limit
  stop_parking write | End parking. | session
powerco.example | Powerco | Electricity and gas for homes.
  submit_reading write | The reading of a meter. | meter; value
  bills read | All invoices. |
  pay_bill spend | Settle an invoice. | invoice; amount
  switch_tariff write | Choose another tariff. | tariff
watercity.example | City Water | Drinking water and drains.
  report_leak send | A burst pipe or water in the street. | place
  water_quality read | What is in the water of a district. | district
telco.example | Telco | Mobile phones and internet at home.
  usage read | How much data is left this month. |
  top_up spend | Add credit to a prepaid phone. | number; amount
  block_sim write | A phone was lost or stolen: block its card. | number
  change_plan write | Take another plan. | plan
postway.example | Postway | Letters and parcels.
  track read | Follow a shipment. | number
  postage spend | Stamps and labels to print at home. | weight; country; price
  redirect write | Have mail sent on to another address. | address; from
  branches read | Post offices and their hours. | place
courierly.example | Courierly | Same-day couriers.
  quote read | What a delivery costs. | from; to
  send_parcel spend | Have a parcel fetched and brought. | from; to; price
bookshelf.example | Bookshelf | New and used books.
  books read | Books by title, author or subject. | words
  buy_book spend | Buy a book. | isbn; price
  sell_book write | Offer a used book. | isbn; condition; price
library.example | Town Library | Free for everybody who lives here.
  catalogue read | What the library has. | words
  reserve_book write | Have a book put aside. | book
  renew write | Keep a loan for longer. | loan
  loans read | What is lent to you and until when. |
cinemax.example | Cinemax | Twelve screens on the market square.
  showtimes read | Films and when they run. | day
  tickets spend | Seats for a film. | show; seats; price
concerts.example | Stage Left | Concerts and plays.
  events read | What is on, by genre and date. | genre; date
  buy_tickets spend | Tickets for a concert or play. | event; seats; price
  waiting_list write | Be told when a sold-out show has places again. | event
museum.example | Museum of the Sea | Ships, whales and lighthouses.
  opening_hours read | When the museum is open. |
  guided_tour write | Book a tour for a group. | date; size
gymbox.example | Gymbox | Classes and weights.
  classes read | Yoga, spinning and boxing classes of the week. | week
  join_class write | Sign up for a class. | class
  membership spend | Become a member. | plan; price
  freeze write | Pause a membership. | until
swim.example | Harbour Pool | Swimming, sauna and lessons.
  lessons read | Swimming lessons for children. | age
  enrol spend | Enrol a child in a course. | course; child; fee
bloom.example | Bloom | Bouquets by bicycle.
  bouquets read | Flowers of the season. |
  send_flowers spend | Have a bouquet delivered with a card. | bouquet; address; card; price
giftly.example | Giftly | Vouchers for everything.
  buy_voucher spend | A gift card by email. | value; recipient
  balance read | What is left on a gift card. | code
bank.example | Harbour Bank | Accounts, cards and savings.
  balances read | How much is in each account. |
  transfer spend | Send money to an account. | iban; amount; reference
  block_card write | Stop a card that was lost. | card
  statements read | Account statements as files. | month
fxrate.example | FX Rate | Rates of currencies.
  convert read | An amount in another currency. | amount; from; to
  rate_alert write | Be told when a rate is reached. | pair; rate
insure.example | Insure | Cover for homes, cars and trips.
  file_claim send | Report damage and claim for it. | policy; what; when
  travel_cover spend | Insurance for a trip. | country; days; premium
  policies read | Your contracts. |
taxhelp.example | Tax Help | Tax returns made simple.
  submit_return send | Hand in a tax return. | year; figures
  estimate read | What you will get back. | income
jobs.example | Jobs North | Jobs in the north.
  vacancies read | Open positions by field and town. | field; town
  apply send | Send an application with a CV. | vacancy; cv; letter
  job_alert write | An email for new vacancies. | field
homes.example | Homes | Flats and houses to rent or to buy.
  listings read | Flats by rooms and rent. | rooms; rent; town
  viewing write | Arrange to see a flat. | listing; time
  contact_landlord send | Write to whoever lets a flat. | listing; text
movers.example | Movers | Vans and strong people.
  book_van spend | Hire a van with a driver. | date; hours; price
  storage spend | Store furniture for some months. | volume; months; price
school.example | Harbour School | Years 1 to 10.
  report_absence send | A child is ill and stays at home. | child; day
  homework read | What is to be done until when. | class
  lunch spend | Order school lunch for a week. | child; week; price
kindergarten.example | Little Fish | Day care for small children.
  places read | Free places by age. | age
  apply_place send | Apply for a place. | child; from
weather.example | Weather Now | Forecasts and warnings.
  forecast read | The weather of the next days. | place
  storm_alert write | Be warned of storms. | place
newsdesk.example | Newsdesk | News of the town.
  headlines read | The latest articles. |
  subscribe_newsletter write | The news by email every morning. | email
  unsubscribe delete | No more newsletter. | email
chatter.example | Chatter | Messages between friends and groups.
  post_message send | Write to a friend or group. | to; text
  read_messages read | New messages. |
  leave_group delete | Be no member of a group any more. | group
calendarly.example | Calendarly | Calendars for teams.
  events read | What is planned. | from; to
  create_event write | Put a meeting into the calendar. | title; start; end
  invite_people send | Ask people to a meeting. | event; people
  delete_event delete | Take a meeting out. | event
tasklist.example | Tasklist | To-do lists.
  add_task write | A new thing to do. | text; due
  complete_task write | Tick something off. | task
  tasks read | What is still to do. |
translateit.example | Translate It | Texts in forty languages.
  translate read | A text in another language. | text; to
  certified spend | A certified translation by a sworn translator. | document; price
photoprint.example | Photoprint | Prints, posters and photo books.
  upload write | Add pictures to an album. | album; pictures
  order_prints spend | Have photos printed on paper. | album; format; price
gardenia.example | Gardenia | Seeds, plants and tools for gardens.
  plants read | Which plant likes which place. | light; soil
  basket_add write | Lay seeds, plants or tools into the basket. | sku; count
  basket_pay spend | Settle the basket. | total
cityhall.example | City Hall | Services of the town.
  renew_passport spend | A new passport or identity card. | kind; photo; fee
  register_address write | You moved: register where you live. | address; since
  report_pothole send | Something is broken in a street. | place; what
  waste_dates read | When rubbish and paper are collected. | street
charity.example | Open Hands | Help where it is needed.
  donate spend | Give money. | amount; purpose
  volunteer write | Help for some hours. | skills; days
"""

QUERIES: Final = """
tune buy printer paper => greenleaf.example/checkout
held order office chairs => greenleaf.example/checkout
tune purchase toner for my printer => inkwell.example/buyCartridge
held which ink fits my printer => inkwell.example/find_cartridge
tune order green tea => tealeaf.example/order_tea
held get tea every month => tealeaf.example/subscribe_box
tune write a review of a tea => tealeaf.example/leave_review
held train from Leeds to York tomorrow => rail.example/find_connections
tune buy a train ticket => rail.example/book_seat
held get money back for a train ticket => rail.example/refund_ticket
tune book a flight to Lisbon => skyward.example/purchase, skyward.example/searchFlights
held flight check-in boarding pass => skyward.example/check_in
tune reschedule my flight => skyward.example/change_booking
held hotel room for two nights => hotelio.example/rooms_available, hotelio.example/reserve
tune cancel hotel reservation => hotelio.example/cancel_reservation
held reserve a table for four => tablefinder.example/book_table
tune show me the menu of a restaurant => tablefinder.example/menu
held order pizza delivery => quickbite.example/order_meal
tune where is my food courier => quickbite.example/courier_position
held see a doctor next week => drwell.example/make_appointment, drwell.example/free_slots
tune repeat prescription => drwell.example/request_prescription
held dentist appointment => smile.example/book, smile.example/appointments
tune take my dog to the vet => pawsvet.example/vet_visit
held cat vaccination records => pawsvet.example/vaccinations
tune find a plumber => fixit.example/craftsmen
held hire an electrician => fixit.example/hire
tune window cleaning => cleanco.example/schedule_cleaning, cleanco.example/prices
held rent a bicycle => bikes.example/unlock, bikes.example/nearby_stations
tune return the bike => bikes.example/give_back
held rent a car for an afternoon => carshare.example/rent_car
tune report damage to a rental car => carshare.example/report_damage
held pay for parking => parkwise.example/start_parking
tune find a parking garage => parkwise.example/garages
held pay my electricity bill => powerco.example/pay_bill
tune send meter reading => powerco.example/submit_reading
held burst water pipe => watercity.example/report_leak
tune top up my prepaid phone => telco.example/top_up
held my phone was stolen, block the SIM card => telco.example/block_sim
tune track a parcel => postway.example/track, inkwell.example/track_parcel
held buy stamps => postway.example/postage
tune forward my mail to a new address => postway.example/redirect
held same-day courier for a package => courierly.example/send_parcel, courierly.example/quote
tune buy a used book => bookshelf.example/buy_book
held sell my old books => bookshelf.example/sell_book
tune extend a library loan => library.example/renew
held reserve a book at the library => library.example/reserve_book
tune cinema tickets tonight => cinemax.example/tickets
held what films are showing => cinemax.example/showtimes
tune concert tickets => concerts.example/buy_tickets
held museum opening times => museum.example/opening_hours
tune join a yoga class => gymbox.example/join_class, gymbox.example/classes
held pause gym membership => gymbox.example/freeze
tune swimming lessons for kids => swim.example/lessons, swim.example/enrol
held send flowers to my mother => bloom.example/send_flowers
tune buy a gift card => giftly.example/buy_voucher
held transfer money to an account => bank.example/transfer
tune lost my bank card => bank.example/block_card
held convert dollars to euros => fxrate.example/convert
tune travel insurance => insure.example/travel_cover
held make an insurance claim => insure.example/file_claim
tune submit my tax return => taxhelp.example/submit_return
held apply for a job => jobs.example/apply
tune search vacancies => jobs.example/vacancies
held rent a flat with three rooms => homes.example/listings
tune message a landlord => homes.example/contact_landlord
held hire a moving van => movers.example/book_van
tune my child is sick, tell the school => school.example/report_absence
held nursery place for my daughter => kindergarten.example/apply_place, kindergarten.example/places
tune weather forecast for the weekend => weather.example/forecast
held unsubscribe from the newsletter => newsdesk.example/unsubscribe
tune send a message to a friend => chatter.example/post_message
held schedule a meeting => calendarly.example/create_event
tune invite colleagues to a meeting => calendarly.example/invite_people
held remove a meeting from the calendar => calendarly.example/delete_event
tune add a to-do => tasklist.example/add_task
held translate a text into French => translateit.example/translate
tune print my photos => photoprint.example/order_prints
held purchase tomato seeds => gardenia.example/basket_pay, gardenia.example/basket_add
tune renew passport => cityhall.example/renew_passport
held broken street light => cityhall.example/report_pothole
tune donate to charity => charity.example/donate
held volunteer at the weekend => charity.example/volunteer
"""


@dataclass(frozen=True, slots=True)
class LabelledAction:
    site: str
    name: str
    effect: str
    description: str
    inputs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class LabelledSite:
    site: str
    name: str
    summary: str
    actions: tuple[LabelledAction, ...]


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    answers: frozenset[str]
    is_held_out: bool


def sites() -> list[LabelledSite]:
    found: list[LabelledSite] = []
    for line in SITES.strip().splitlines():
        if not line.startswith(" "):
            site, name, summary = (part.strip() for part in line.split("|"))
            found.append(LabelledSite(site, name, summary, ()))
            continue
        last = found.pop()
        head, description, given = (part.strip() for part in line.split("|"))
        name, effect = head.split()
        pairs = (part.partition(":") for part in given.split(";") if part.strip())
        inputs = tuple((each.strip(), said.strip()) for each, _colon, said in pairs)
        action = LabelledAction(last.site, name, effect, description, inputs)
        found.append(LabelledSite(last.site, last.name, last.summary, (*last.actions, action)))
    return found


def queries() -> list[Query]:
    found = []
    for line in QUERIES.strip().splitlines():
        asked, _arrow, answers = line.partition(" => ")
        part, _space, text = asked.partition(" ")
        found.append(Query(text, frozenset(answers.split(", ")), part == "held"))
    return found


def manifest_of(site: LabelledSite) -> dict[str, object]:
    """As the site would publish it."""
    return {
        "version": "agent-actions/0.1",
        "site": site.site,
        "flows": [],
        "actions": [
            {
                "name": action.name,
                "description": action.description,
                "method": "GET" if action.effect == "read" else "POST",
                "path": f"/agent/{action.name}",
                "effect": action.effect,
                "input": {
                    "type": "object",
                    "properties": {
                        name: {"type": "string", **({"description": said} if said else {})}
                        for name, said in action.inputs
                    },
                },
            }
            for action in site.actions
        ],
    }
